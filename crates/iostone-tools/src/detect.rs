//! Which tool printed a file, told by its content.
