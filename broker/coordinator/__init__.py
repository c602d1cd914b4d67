"""Coordinators: state that is a log of records. They decide, the runtime acts."""
