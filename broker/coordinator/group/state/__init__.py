"""What is known of groups: members, offsets, and the records that say so."""
