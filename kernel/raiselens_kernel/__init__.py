"""The bundled GPU kernels and their verification: runs in the user's interpreter with torch and triton alone."""
