"""How the page looks: one style sheet, for light and dark, for wide screens and phones."""

from __future__ import annotations

STYLE = """
:root { color-scheme: light dark; --paper: #ffffff; --ink: #1d1d1f; --quiet: #62626a; --line: #e2e2e6; --card: #f6f6f8;
  --accent: #0068a4; --warn-paper: #fff4e0; --warn-line: #d98e00; }
@media (prefers-color-scheme: dark) { :root { --paper: #17181b; --ink: #ececf0; --quiet: #a2a2ac; --line: #34353b; --card: #212227;
  --accent: #6fb9e6; --warn-paper: #33280f; --warn-line: #e0a030; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 68rem; padding: 2rem 1.25rem 4rem; background: var(--paper); color: var(--ink);
  font: 1rem/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.6rem; line-height: 1.2; margin: 0; }
h2 { font-size: 1.15rem; margin: 2.6rem 0 .8rem; }
p { margin: .6rem 0; max-width: 46rem; }
code, pre { font: .9em ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; }
pre { background: var(--card); border-radius: .5rem; padding: .8rem 1rem; white-space: pre-wrap; }
.quiet { color: var(--quiet); }
.lead { font-size: 1.1rem; }
.warning { background: var(--warn-paper); border-left: .25rem solid var(--warn-line); padding: .5rem .9rem; border-radius: .25rem; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 11.5rem), 1fr)); gap: .75rem; margin: 1.5rem 0 0; }
.tile { background: var(--card); border-radius: .6rem; padding: .8rem 1rem; }
.tile dt { color: var(--quiet); font-size: .85rem; }
.tile dd { margin: 0; font-size: 1.7rem; font-weight: 600; line-height: 1.25; overflow-wrap: normal; }
.tile dd + dd { color: var(--quiet); font-size: .82rem; font-weight: 400; }
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 27rem), 1fr)); gap: 1rem; align-items: start; }
figure { margin: 0; background: #ffffff; border: 1px solid var(--line); border-radius: .6rem; padding: .4rem; }
figure img { display: block; width: 100%; height: auto; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th { text-align: left; color: var(--quiet); font-size: .85rem; font-weight: 500; }
th, td { padding: .45rem .9rem .45rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }
.bolts th + th, .bolts td + td { text-align: right; white-space: nowrap; }
.bolts td { overflow-wrap: normal; }
.measures td:first-child { width: 13rem; font-weight: 500; }
.measures td:nth-child(2) { width: 15rem; }
.measures td:last-child { color: var(--quiet); font-size: .92rem; }
.group td { color: var(--quiet); font-size: .85rem; padding-top: 1.2rem; }
.decisions { list-style: none; margin: 0; padding: 0; }
.decisions li { border-bottom: 1px solid var(--line); padding: .5rem 0; }
.kind { display: inline-block; border: 1px solid var(--line); border-radius: .3rem; color: var(--quiet); font-size: .75rem;
  padding: 0 .4rem; margin-right: .4rem; }
.kind.failed, .kind.held, .kind.capped, .kind.note { border-color: var(--warn-line); color: var(--ink); }
a { color: var(--accent); }
@media (max-width: 44rem) {
  body { padding: 1.25rem .9rem 3rem; }
  .tiles { grid-template-columns: 1fr 1fr; }
  .tile dd { font-size: 1.35rem; }
  figure { margin: 0 -.5rem; padding: .2rem; }
  .measures tr:not(.group), .measures tr:not(.group) td { display: block; width: auto; border: 0; padding: 0; }
  .measures tr:not(.group) td:nth-child(2) { width: auto; font-size: 1.1rem; }
  .measures tr:not(.group) { border-bottom: 1px solid var(--line); padding: .5rem 0; }
}
@media print { body { max-width: none; } figure, li, tr { break-inside: avoid; } }
"""
