// Requests to the server; every path is relative to the page's own, which holds the token.

export async function ask<T>(path: string, query: Record<string, string> = {}): Promise<T> {
  const search = new URLSearchParams(query).toString();
  return answer<T>(await fetch(search ? `api/${path}?${search}` : `api/${path}`));
}

export async function tell<T>(path: string, body: object): Promise<T> {
  return answer<T>(
    await fetch(`api/${path}`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(body),
    }),
  );
}

async function answer<T>(response: Response): Promise<T> {
  const body = await response.json();
  if (!response.ok) throw new Error(body.error ?? `The server answered ${response.status}.`);
  return body as T;
}
