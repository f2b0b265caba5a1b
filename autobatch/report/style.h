#ifndef AUTOBATCH_REPORT_STYLE_H_
#define AUTOBATCH_REPORT_STYLE_H_

namespace autobatch {

// The page's style: one set of colours by role, twice. Sizes of text in a plot grow on a narrow
// screen, where the whole drawing shrinks.
inline constexpr char kPageStyle[] = R"(
:root{color-scheme:light dark;--page:#f4f5f7;--card:#fff;--text:#1a1f26;--soft:#5a6472;--line:#dfe3e8;
--blue:#2457d6;--band:#2457d624;--red:#b42318;--over:#b4231812;--green:#05703f;--amber:#a84300;
--m1:#7b5bd6;--m2:#b07fe0;--m3:#d39a2d;--m4:#3d8f95;--free:#c9d6f7;--rest:#c3c8d0}
@media(prefers-color-scheme:dark){:root{--page:#0e1116;--card:#171b22;--text:#e7eaef;--soft:#9fa9b6;
--line:#2b323c;--blue:#83a8ff;--band:#83a8ff2b;--red:#ff8178;--over:#ff817814;--green:#56d293;--amber:#f3b14e;
--m1:#9d83f0;--m2:#c9a3f0;--m3:#e0b04f;--m4:#5fb8be;--free:#33456f;--rest:#4a525e}}
*{box-sizing:border-box}
body{margin:0;background:var(--page);color:var(--text);font:15px/1.5 system-ui,-apple-system,"Segoe UI",
Roboto,"DejaVu Sans",sans-serif;font-variant-numeric:tabular-nums}
main{max-width:1160px;margin:0 auto;padding:28px 20px 48px}
h1{font-size:30px;line-height:1.2;margin:0 0 10px;letter-spacing:-.01em;text-wrap:balance}
h2{font-size:19px;margin:0;overflow-wrap:anywhere}h3{font-size:14px;margin:22px 0 8px}
p{margin:4px 0;overflow-wrap:anywhere}.soft{color:var(--soft)}a{color:var(--blue)}
.card{background:var(--card);border:1px solid var(--line);border-radius:12px;padding:20px;margin:18px 0}
.head{display:flex;flex-wrap:wrap;gap:6px 12px;align-items:center;margin-bottom:4px}
.pill{border:1px solid currentColor;border-radius:99px;padding:1px 10px;font-size:13px;font-weight:600}
.good-text{color:var(--green)}.bad-text{color:var(--red)}.odd-text{color:var(--amber)}
.facts{display:grid;grid-template-columns:repeat(auto-fit,minmax(150px,1fr));gap:12px 20px;margin:14px 0 0}
.facts dt{font-size:12.5px;color:var(--soft)}.facts dd{margin:0;overflow-wrap:anywhere}.wide{grid-column:1/-1}
.split{display:grid;grid-template-columns:minmax(0,1.75fr) minmax(0,1fr);gap:28px;margin-top:12px}
.split>*{min-width:0}figure{margin:0}
.scroll{overflow-x:auto}.scroll:focus-visible{outline:2px solid var(--blue);outline-offset:2px}
table{border-collapse:collapse;width:100%;font-size:14px}caption{position:absolute;width:1px;height:1px;
overflow:hidden;clip-path:inset(50%)}
th,td{padding:7px 8px;text-align:right;border-bottom:1px solid var(--line);white-space:nowrap;
vertical-align:top;font-weight:400}
thead th{color:var(--soft);font-size:12.5px}.words{text-align:left}.words div{width:max-content;max-width:40ch;white-space:normal}
tr>:first-child{padding-left:0}tr>:last-child{padding-right:0}tbody tr:last-child>*{border-bottom:0}
.bar{display:flex;height:22px;border-radius:6px;overflow:hidden;gap:2px;margin:2px 0 8px}
.bar span{min-width:3px}.swatch{display:inline-block;width:11px;height:11px;border-radius:3px;margin-right:8px}
.peak{background:var(--blue)}.left{background:var(--free)}.rest{background:var(--rest)}
.m0{background:var(--m1)}.m1{background:var(--m2)}.m2{background:var(--m3)}.m3{background:var(--m4)}
pre{background:var(--page);border:1px solid var(--line);border-radius:8px;padding:10px 12px;overflow-x:auto;
font:13px/1.45 ui-monospace,"DejaVu Sans Mono",monospace;margin:8px 0}
details{margin-top:18px}summary{cursor:pointer;font-weight:600;font-size:14px}
.note{border-left:3px solid var(--amber);padding-left:12px;margin:10px 0}
.fail{border-left:3px solid var(--red);padding-left:12px;margin:14px 0}
.plot{display:block;width:100%;height:auto}.plot text{font-size:12.5px;fill:var(--soft)}
.grid{stroke:var(--line)}.axis{stroke:var(--soft)}
.band{fill:var(--band)}.fit{fill:none;stroke:var(--blue);stroke-width:2}
.over{fill:var(--over)}.budget{stroke:var(--red);stroke-width:1.5;stroke-dasharray:7 4}
.plot .budget-label{fill:var(--red)}.answer{stroke:var(--green);stroke-width:1.5;stroke-dasharray:2 4}
.plot .answer-label{fill:var(--green);font-weight:700}.answer.guess{stroke-dasharray:1 7}
.ran{stroke:var(--blue)}.good{fill:var(--green);stroke:var(--card);stroke-width:1.5}
.open{fill:var(--card);stroke-width:2}.bad{stroke:var(--red)}.stroke{fill:none;stroke-width:2.5;
stroke-linecap:round}.odd{fill:var(--amber);stroke:var(--card);stroke-width:1.5}
.legend{display:flex;flex-wrap:wrap;gap:4px 16px;font-size:13px;color:var(--soft);margin-top:6px}
.legend span{display:inline-flex;align-items:center;gap:6px}
footer{color:var(--soft);font-size:13px}
@media(max-width:760px){main{padding:18px 12px 32px}h1{font-size:24px}.card{padding:14px;border-radius:10px}
.split{grid-template-columns:minmax(0,1fr);gap:8px}.plot text{font-size:20px}.words div{max-width:30ch}
.point>*{transform-box:fill-box;transform-origin:center;transform:scale(1.5)}
.facts{grid-template-columns:repeat(2,minmax(0,1fr))}}
@media print{.card{break-inside:avoid}}
)";

}  // namespace autobatch

#endif  // AUTOBATCH_REPORT_STYLE_H_
