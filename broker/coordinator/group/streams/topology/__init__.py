"""Is a topology one that can be computed, with the topics that there are?"""
