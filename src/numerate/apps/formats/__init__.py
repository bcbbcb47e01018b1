"""Files as documents: text, Markdown, LaTeX, HTML, CSV and TSV, JSON and JSON lines, XLSX, DOCX."""
