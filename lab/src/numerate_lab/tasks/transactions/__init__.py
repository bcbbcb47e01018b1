"""Card transactions (LUNA 2022, Table 4): TabBERT with and without numbers, judged by the detection of fraud."""
