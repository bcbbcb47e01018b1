"""What is trained and measured: one folder or file for each task, registered in `numerate_lab.registry.tasks`."""
