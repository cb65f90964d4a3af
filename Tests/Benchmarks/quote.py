#!/usr/bin/env python3
"""quote.py RESULTS ARTICLE: replaces each block of ARTICLE that begins with "== PART" by this part of RESULTS, a file that
bench.py has written. A part that RESULTS lacks stays as it is."""
import re, sys

results, article = sys.argv[1:]
parts = {part.split("\n", 1)[0]: part.rstrip() for part in re.split(r"(?m)^(?=== )", open(results).read()) if part.strip()}
text = open(article).read()
text = re.sub(r"(?ms)^```text\n(== \w+)$.*?^```$",
              lambda block: f"```text\n{parts[block[1]]}\n```" if block[1] in parts else block[0], text)
open(article, "w").write(text)
print(f"quoted in {article}: {', '.join(name[3:] for name in parts)}")
