"""What a run was like, after it: the measures of the papers, figures, and a page. Reads the files of a run; nothing runs for it."""
