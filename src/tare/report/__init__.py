"""From overheads and runs to what people read: tables, figures, the HTML page, a summary for the terminal."""
