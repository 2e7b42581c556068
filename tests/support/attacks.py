"""Hostile strings for every function that accepts outside input."""

from __future__ import annotations

ATTACKS = {
    "broadcasts": "<!channel> <!here> <!everyone> <!group> @channel @here @everyone",
    "broadcasts with labels": "<!channel|channel> <!here|here> <!everyone|all>",
    "broadcasts in marks": "_@here_ __@channel__ *@everyone* (@here) .@here `@here`",
    "shouted broadcasts": "<!CHANNEL> <!Here> @Channel, @EVERYONE!",
    "groups": "<!subteam^S0RUNNERS> <!subteam^S0RUNNERS|runners>",
    "people": "<@U0BOB> <@U0BOB|bob> <@W0BOB> <@w0bob> <@B0BOT>",
    "channels": "<#C0GENERAL> <#C0GENERAL|general>",
    "entities": "&lt;!channel&gt; &#60;!here&#62; &#x3C;&#33;channel&gt; &lt;@U0BOB&gt; &#64;here <&excl;channel>",
    "escapes": "\\<!channel> <\\!channel> \\@here <\\@U0BOB>",
    "dates": "<!date^1^{date}^https://evil.example|now>",
    "labels": "<https://evil.example|https://bank.example> <HTTPS://evil.example|bank> <mailto:e@evil.example|a@b.cd>",
    "links": "[https://bank.example](https://evil.example) [Go to bank.example now](<https://evil.example>)",
    "links in brackets": "[[[bank.example]]](https://evil.example) [bank.example\\]](https://evil.example)",
    "links by reference": "[bank.example][1] [bank.example][]\n\n[1]: https://evil.example\n[bank.example]: https://evil.example",
    "images": "![x](https://evil.example/p.png) ![x][1]\n\n[1]: https://evil.example/p.png",
    "code": "``` <!channel> ``` `<!here>`\n```\n<!channel>\n````\n~~~\n<@U0BOB>",
    "nested": "<<!channel>> <!<!channel>channel> <<@U0BOB>>",
    "lines": "a\n<!channel>\r\n> <!here>\n# <@U0BOB>\u2028- x\u2029y",
    "controls": "\u202eevil\u2066\u2069 \x07\x1b[31m\x00<!channel>\x7f",
    "tables": "| a | b |\n|---|---|\n| <!channel> | [bank.example](https://evil.example) |",
}
