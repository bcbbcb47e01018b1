"""Files as documents: text, Markdown, HTML, CSV and TSV, JSON and JSON lines, XLSX, DOCX."""
