"""TAT-QA: questions over tables and paragraphs of financial reports, answered by tagging and one operator (TagOp)."""
