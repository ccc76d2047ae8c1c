"""What a card is: it reads rows, scores them, prints and saves itself, with numpy alone."""
