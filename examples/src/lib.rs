//! Programs that embed Ralph; see `examples/`.
