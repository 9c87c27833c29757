/// The stylesheet of all pages.
enum Stylesheet {
    /// The rules. Every text has a contrast of at least 4.5 to its background (WCAG 2.2, 1.4.3).
    static let included = """
        :root{color-scheme:light dark;--on:#fff;--ground:#f3f5f8;--sheet:#fff;--line:#d5dbe3;--field:#7b8794;--ink:#1a2129;\
        --soft:#566270;--accent:#1f5fbf;--deep:#184a96;--alert:#c62828;--tint:#fdeeee;--link:#184a96;font:100%/1.5 system-ui,sans-serif}
        @media (prefers-color-scheme:dark){:root{--ground:#12161b;--sheet:#1b2128;--line:#323b46;--field:#7d8997;\
        --ink:#e8ecf1;--soft:#a3afbd;--accent:#2f6fd0;--deep:#255cb0;--alert:#ef6b6b;--tint:#33201f;--link:#8ab4f8}}
        [hidden]{display:none!important}
        body{margin:0;min-height:100vh;min-height:100dvh;display:grid;place-items:center;background:var(--ground);\
        color:var(--ink)}
        main{box-sizing:border-box;width:min(28rem,100%);padding:2rem 1.5rem;background:var(--sheet)}
        h1{margin:0;font-size:1.5rem;line-height:1.25;overflow-wrap:anywhere}
        p{margin:.75rem 0 0;overflow-wrap:anywhere}
        a{color:var(--link)}
        .brand{margin:0 0 1.5rem;font-weight:600}.brand img{display:block;max-width:100%;max-height:4rem}
        .support{margin-top:1.5rem}
        .list{margin:1rem 0 0;padding:0;list-style:none}.list li{display:flex;flex-wrap:wrap;\
        align-items:center;gap:.75rem 1rem;padding:1rem 0;border-top:1px solid var(--line)}.list div{flex:1 1 10rem;min-width:0}\
        .list h2{margin:0;font-size:1rem;overflow-wrap:anywhere}.list p{margin:.25rem 0 0;color:var(--soft);font-size:.9375rem}\
        .list time{white-space:nowrap}.list button{margin:0;padding:.375rem .75rem;width:auto}
        .here{padding:.125rem .625rem;border:1px solid var(--line);border-radius:1rem;background:var(--ground);\
        font-size:.875rem}
        label{display:block;margin-top:1rem;font-weight:600}
        input,button,.way{box-sizing:border-box;display:block;width:100%;padding:.625rem .75rem;font:inherit;\
        border-radius:.375rem;border:1px solid transparent}
        input{margin-top:.25rem;border-color:var(--field);background:var(--sheet);color:inherit}
        .choice{display:flex;align-items:center;gap:.5rem;font-weight:400}.choice input{width:1.25rem;height:1.25rem;\
        margin:0;flex:none;accent-color:var(--accent)}
        .caps{color:var(--soft);font-size:.9375rem}
        input[aria-invalid]{border-color:var(--alert)}
        button,.way{margin-top:1.5rem;background:var(--accent);color:var(--on);font-weight:600;text-align:center;\
        text-decoration:none;cursor:pointer}
        button:hover,.way:hover{background:var(--deep)}
        .quiet{background:transparent;border-color:var(--field);color:inherit}.quiet:hover{background:var(--ground)}
        @media (forced-colors:active){:is(button,.way):not(.quiet),input[aria-invalid]{border-width:3px}}
        .end{border-color:var(--alert);color:var(--alert)}.back{text-align:center}
        .provider{box-sizing:border-box;display:flex;align-items:center;gap:.75rem;margin-top:.75rem;padding:.625rem .75rem;\
        border:1px solid var(--field);border-radius:.375rem;background:var(--sheet);color:inherit;font-weight:600;\
        text-decoration:none;overflow-wrap:anywhere}.provider:hover{background:var(--ground)}.provider span{min-width:0}\
        .provider small{display:block;color:var(--soft);font-weight:400}.provider[data-away]{border-style:dashed;\
        color:var(--soft)}p+.provider{margin-top:1.5rem}.or+.provider{margin-top:1rem}
        .mark{flex:none;width:1.5rem;height:1.5rem;line-height:1.5rem;text-align:center;object-fit:contain}\
        span.mark{border-radius:.375rem;background:var(--line);color:var(--ink);font-size:.875rem}
        .or{display:flex;align-items:center;gap:.75rem;margin-top:1.5rem;color:var(--soft);text-align:center}\
        .or:before,.or:after{content:"";flex:1;min-width:1rem;border-top:1px solid var(--line)}
        :is(input,button,a):focus-visible{outline:3px solid #5b9bff;outline-offset:2px}
        .notice{margin-top:1rem;padding:.75rem;border-inline-start:4px solid var(--alert);background:var(--tint)}
        .calm{border-inline-start-color:var(--accent);background:var(--ground)}
        .facts{margin-top:1.5rem;padding-top:.75rem;border-top:1px solid var(--line);color:var(--soft);font-size:.8125rem}
        code{font-family:ui-monospace,monospace}
        @media (min-width:30rem){main{margin:1.5rem 0;padding:2rem;border:1px solid var(--line);border-radius:.75rem}}
        @media (max-width:29.99rem){body{place-items:start stretch;background:var(--sheet)}h1{font-size:1.375rem}}
        """
}
