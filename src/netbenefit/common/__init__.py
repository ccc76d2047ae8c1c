"""What every room may use: checks, text, tables, files, parallel work; nothing about risk."""
