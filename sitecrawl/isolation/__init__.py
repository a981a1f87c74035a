"""Pages are read in processes of their own, which may do next to nothing else."""
