"""What people type: folding it for comparing, and finding what it names."""
