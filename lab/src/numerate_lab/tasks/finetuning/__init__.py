"""What tasks that fine-tune a pretrained model share: starting points, training, prepared batches."""
