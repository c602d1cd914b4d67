"""May this batch be stored, and what has to change in it first?"""
