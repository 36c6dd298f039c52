"""What ``orbit bench`` runs: a corpus, the steps of a memory's life, and the floor they are held against."""
