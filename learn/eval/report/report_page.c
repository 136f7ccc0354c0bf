#include "learn/eval/report/report_page.h"

#include "learn/eval/report/html.h"

/* One accent colour on greys; fonts are the reader's own. Numbers have equal widths, wide tables
 * scroll by themselves on a phone, and paper gets what a screen shows, on white. */
static const char style[] =
    ":root{color-scheme:light dark;--bg:#fff;--fg:#1c2024;--muted:#5b6570;--line:#dde2e6;"
    "--soft:#f4f6f8;--accent:#0b62c1;--on-accent:#fff;--tint:11,98,193}\n"
    "@media (prefers-color-scheme:dark){:root{--bg:#121518;--fg:#e3e7ea;--muted:#97a1ab;"
    "--line:#2c333a;--soft:#1b2025;--accent:#6eb2ff;--on-accent:#0a1016;--tint:110,178,255}}\n"
    "@media print{:root{--bg:#fff;--fg:#000;--muted:#444;--line:#ccc;--soft:#f4f6f8;"
    "--accent:#0b62c1;--on-accent:#fff;--tint:11,98,193}}\n"
    "*{box-sizing:border-box}\n"
    "html{-webkit-text-size-adjust:100%}\n"
    "body{margin:0 auto;max-width:64rem;padding:2.5rem 1.25rem 4rem;background:var(--bg);"
    "color:var(--fg);font:15px/1.55 system-ui,-apple-system,\"Segoe UI\",Roboto,"
    "\"Helvetica Neue\",\"Noto Sans\",\"DejaVu Sans\",sans-serif;"
    "font-variant-numeric:tabular-nums}\n"
    "h1{font-size:1.75rem;line-height:1.2;font-weight:650;letter-spacing:-.01em;margin:0}\n"
    "h2{font-size:1.15rem;font-weight:650;margin:0 0 .25rem}\n"
    "h3{font-size:.9rem;font-weight:600;margin:0 0 .25rem}\n"
    "section{margin-top:3rem}\n"
    "p{margin:.25rem 0 1rem;max-width:46rem}\n"
    ".muted,p.about,figcaption,.foot{color:var(--muted)}\n"
    "p.about{font-size:.9rem}\n"
    ".meta{display:flex;flex-wrap:wrap;gap:.1rem 1.25rem;margin:.5rem 0 0;padding:0;"
    "list-style:none;color:var(--muted);font-size:.9rem;overflow-wrap:anywhere}\n"
    ".tiles{display:grid;grid-template-columns:repeat(2,1fr);gap:1px;"
    "margin:2rem 0 0;background:var(--line);border:1px solid var(--line);border-radius:8px;"
    "overflow:hidden}\n"
    "@media (min-width:48rem),print{.tiles{grid-template-columns:repeat(4,1fr)}}\n"
    ".tiles div{background:var(--bg);padding:1rem 1.15rem}\n"
    ".tiles dt{font-size:.85rem;color:var(--muted)}\n"
    ".tiles dd{margin:0}\n"
    ".tiles .value{font-size:2rem;line-height:1.25;font-weight:600;letter-spacing:-.02em}\n"
    ".tiles .note{font-size:.8rem;color:var(--muted)}\n"
    ".scroll{overflow-x:auto}\n"
    "table{border-collapse:collapse;font-size:.9rem}\n"
    "table.wide{width:100%}\n"
    "caption{text-align:left;font-weight:600;padding:0 0 .4rem}\n"
    "th,td{padding:.35rem .7rem;text-align:right;white-space:nowrap;unicode-bidi:isolate}\n"
    "th:first-child,td:first-child{text-align:left;padding-left:0}\n"
    "th{font-weight:600}\n"
    "tbody th{font-weight:500;max-width:22rem;overflow:hidden;text-overflow:ellipsis}\n"
    "thead th{color:var(--muted);font-size:.8rem;vertical-align:bottom}\n"
    "thead tr,tbody tr{border-bottom:1px solid var(--line)}\n"
    ".bar{width:9.5rem;height:1rem;display:block;margin-left:auto}\n"
    ".bar .track{fill:var(--soft)}.bar .value{fill:var(--accent)}\n"
    ".bar .whisker{stroke:var(--fg);stroke-width:1.2;fill:none}\n"
    ".matrix{font-size:.8rem}\n"
    ".matrix td{padding:0;min-width:3.1rem;height:2.2rem;text-align:center;"
    "border:1px solid var(--bg)}\n"
    ".matrix thead th{padding:.2rem .2rem .4rem;vertical-align:bottom;text-align:center}\n"
    ".matrix thead th span{writing-mode:vertical-rl;transform:rotate(180deg);"
    "max-height:8.2rem;overflow:hidden;text-overflow:ellipsis}\n"
    ".matrix tbody tr,.matrix thead tr{border:0}\n"
    ".matrix .zero{color:var(--line)}\n"
    ".charts{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(21rem,100%),1fr));"
    "gap:1.5rem 2rem;align-items:start}\n"
    "figure{margin:0;min-width:0}\n"
    "figcaption{font-size:.85rem}.charts+.scroll{margin-top:1.5rem}\n"
    ".chart+figcaption{margin-left:min(12%,3.9rem)}\n"
    ".chart{width:100%;max-width:32rem;height:auto;display:block}\n"
    ".chart text{font:11px system-ui,-apple-system,\"Segoe UI\",Roboto,\"DejaVu Sans\",sans-serif;"
    "fill:var(--muted)}\n"
    ".chart .note{fill:var(--fg);font-weight:600;paint-order:stroke;stroke:var(--bg);"
    "stroke-width:4px}\n"
    ".chart .grid{stroke:var(--line);fill:none}.chart .axis{stroke:var(--muted);fill:none}\n"
    ".chart .line{fill:none;stroke-width:2;stroke-linejoin:round;stroke-linecap:round}\n"
    ".chart .line.accent{stroke:var(--accent)}\n"
    ".chart .line.faint{stroke:var(--muted);stroke-width:1.3;stroke-dasharray:4 4}\n"
    ".chart .dot{stroke:var(--bg);stroke-width:1.5}\n"
    ".chart .dot.accent{fill:var(--accent)}.chart .dot.faint{fill:var(--muted)}\n"
    ".chart .gap{fill:rgba(var(--tint),.18)}.chart .mass{fill:var(--line)}\n"
    ".images{display:grid;grid-template-columns:repeat(auto-fill,minmax(8.5rem,1fr));"
    "gap:1.25rem 1rem}\n"
    ".images img{width:100%;aspect-ratio:1;object-fit:contain;image-rendering:pixelated;"
    "background:var(--soft);border-radius:6px;display:block;margin-bottom:.4rem}\n"
    ".mistake{overflow-wrap:anywhere;unicode-bidi:isolate}\n"
    ".images .mistake{font-size:.78rem;line-height:1.4}\n"
    ".mistake b{color:var(--fg);font-weight:600}\n"
    ".texts{display:grid;gap:1.25rem}\n"
    "pre{margin:.35rem 0 0;padding:.7rem .9rem;background:var(--soft);border-radius:6px;"
    "font:12px/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,\"DejaVu Sans Mono\",monospace;"
    "overflow-x:auto;unicode-bidi:isolate}\n"
    "details{margin-top:1rem}summary{cursor:pointer;color:var(--accent)}\n"
    "ul.inputs{padding-left:1.1rem;font-size:.9rem;overflow-wrap:anywhere}\n"
    ".foot{margin-top:4rem;padding-top:1rem;border-top:1px solid var(--line);font-size:.8rem}\n"
    "@media print{body{padding:0;max-width:none;font-size:10pt}section{margin-top:1.6rem}"
    "h2,h3,p.about{break-after:avoid}tr,figure,.tiles,.chart{break-inside:avoid}.scroll{overflow:"
    "visible}"
    "pre{white-space:pre-wrap}*{-webkit-print-color-adjust:exact;print-color-adjust:exact}}\n";

void report_page_open(FILE *file, const char *model_name, const char *kind, const char *more_style)
{
    fputs("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
          "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
          "style-src 'unsafe-inline'; img-src data:\">\n<title>",
          file);
    html_text(file, model_name);
    fprintf(file, " - %s</title>\n<style>\n%s%s</style></head>\n<body>\n", kind, style, more_style);
}

void report_page_section(FILE *file, const char *title, const char *about)
{
    fprintf(file, "<section><h2>%s</h2>\n<p class=\"about\">%s</p>\n", title, about);
}

void report_page_end_section(FILE *file)
{
    fputs("</section>\n\n", file);
}
