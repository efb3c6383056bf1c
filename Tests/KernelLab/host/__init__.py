"""Outside the guest: what to boot, and how to judge the results."""
