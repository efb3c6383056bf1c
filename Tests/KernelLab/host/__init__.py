"""Outside the guest: what to boot, and what to make of what comes out."""
