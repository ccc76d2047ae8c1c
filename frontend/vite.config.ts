// One script and one sheet with fixed names: the server knows them, and no other file.
export default {
  base: "./",
  esbuild: { jsx: "automatic", jsxImportSource: "preact", legalComments: "inline" },
  build: {
    outDir: "../src/netbenefit/studio/assets",
    emptyOutDir: true,
    modulePreload: false,
    rollupOptions: {
      output: {
        banner: "/*! Contains Preact: MIT licence, (c) 2015-present Jason Miller */",
        entryFileNames: "app.js",
        assetFileNames: "app[extname]",
      },
    },
  },
};
