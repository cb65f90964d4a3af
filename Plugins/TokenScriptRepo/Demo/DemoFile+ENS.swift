extension DemoFile {
  /// A name of the Ethereum Name Service, with a card that counts the days to its end.
  ///
  /// It is as long as real TokenScripts are, because the view in each language has its own style and script.
  static let ens = DemoMarkup.token(
    "ENS", "erc721", at: "0x57f1887a8BF19b14fC0dF6Fd9B2acc9Af147eA85",
    label: DemoMarkup.element("ts:label", DemoMarkup.plurals("en", "ENS name", "ENS names")),
    DemoMarkup.element(
      "ts:cards",
      DemoMarkup.element(
        "ts:card type=\"token\" name=\"lease\"", DemoMarkup.itemView("ENS name"),
        NameWords.all.map(view).joined(separator: "\n"))),
    DemoMarkup.attribute("label", syntax: 36, from: "<ts:token-id as=\"uint\"/>"),
    DemoMarkup.attribute(
      "expiry", syntax: 27, label: ["en": "Registered until"],
      from: DemoMarkup.call("nameExpires", of: "ENS", as: "uint", with: tokenID)),
    DemoMarkup.attribute(
      "isFree", syntax: 7,
      from: DemoMarkup.call("available", of: "ENS", as: "bool", with: tokenID)))

  private static let tokenID = "<ts:uint256 ref=\"tokenId\"/>"

  /// The words of the card in one language.
  private struct NameWords {
    let language: String
    let title: String
    let until: String
    let left: String
    let grace: String
    let free: String
    let token: String
    let hint: String

    static let all = [
      NameWords(
        language: "en", title: "A name of yours", until: "Registered until",
        left: "days are left", grace: "It has ended, but only you can renew it for 90 days.",
        free: "Anybody can register it now.", token: "Token",
        hint: "Whoever renews a name in time keeps it. The renewal costs gas besides the fee."),
      NameWords(
        language: "de", title: "Ein Name von Ihnen", until: "Eingetragen bis",
        left: "Tage bleiben", grace: "Er ist abgelaufen; 90 Tage lang können nur Sie verlängern.",
        free: "Jeder kann ihn jetzt eintragen.", token: "Token",
        hint: "Wer rechtzeitig verlängert, behält den Namen. Zur Gebühr kommt der Preis des Gases."),
      NameWords(
        language: "es", title: "Un nombre suyo", until: "Registrado hasta",
        left: "días quedan", grace: "Ha caducado, pero durante 90 días solo usted puede renovarlo.",
        free: "Cualquiera puede registrarlo ahora.", token: "Ficha",
        hint:
          "Quien renueva a tiempo conserva el nombre. La renovación cuesta gas además de la tasa."),
      NameWords(
        language: "fr", title: "Un nom à vous", until: "Enregistré jusqu’au",
        left: "jours restent", grace: "Il a expiré, mais pendant 90 jours vous seul le renouvelez.",
        free: "Chacun peut l’enregistrer maintenant.", token: "Jeton",
        hint: "Qui renouvelle à temps garde le nom. Le gaz s’ajoute aux frais du renouvellement."),
      NameWords(
        language: "zh", title: "您的名称", until: "注册有效期至", left: "天后到期",
        grace: "已到期，但 90 天内只有您可以续期。", free: "现在任何人都可以注册。", token: "代币",
        hint: "按时续期即可保留名称。续期除费用外还需要支付燃料费。"),
    ]
  }

  private static func view(_ words: NameWords) -> String {
    #"""
    <ts:view xml:lang="\#(words.language)">
      <style type="text/css">
        :root {
          --ink: #1d2733;
          --soft: #66788a;
          --paper: #ffffff;
          --line: #dfe6ed;
          --good: #2a7d4f;
          --late: #b3541e;
          --gone: #a02c2c;
        }
        html, body {
          margin: 0;
          background: var(--paper);
          color: var(--ink);
          font: 16px/1.5 system-ui, -apple-system, "Noto Sans", sans-serif;
        }
        .card {
          margin: 1em;
          padding: 1em 1.25em;
          border: 1px solid var(--line);
          border-radius: 0.75em;
        }
        .card h3 {
          margin: 0 0 0.5em;
          font-size: 1.25em;
          font-weight: 600;
        }
        .card dl {
          display: grid;
          grid-template-columns: max-content 1fr;
          gap: 0.25em 1em;
          margin: 0;
        }
        .card dt { color: var(--soft); }
        .card dd {
          margin: 0;
          overflow-wrap: anywhere;
          font-variant-numeric: tabular-nums;
        }
        .bar {
          height: 0.5em;
          margin: 1em 0 0.5em;
          border-radius: 0.25em;
          background: var(--line);
          overflow: hidden;
        }
        .bar div {
          height: 100%;
          width: 0;
          background: var(--good);
          transition: width 0.3s ease-out;
        }
        .late .bar div { background: var(--late); }
        .gone .bar div { background: var(--gone); }
        .state { font-weight: 600; color: var(--good); }
        .late .state { color: var(--late); }
        .gone .state { color: var(--gone); }
        .hint {
          margin: 1em 0 0;
          font-size: 0.875em;
          color: var(--soft);
        }
        @media (prefers-color-scheme: dark) {
          :root {
            --ink: #e8edf2;
            --soft: #93a3b3;
            --paper: #12181f;
            --line: #2b3744;
            --good: #5fc48d;
            --late: #e39a62;
            --gone: #e37b7b;
          }
        }
        @media (prefers-reduced-motion: reduce) {
          .bar div { transition: none; }
        }
      </style>
      <script type="text/javascript">
        class Lease {
          static day = 86400;
          static grace = 90;
          static year = 365;

          constructor(token, now) {
            this.id = String(token.tokenId ?? token.label ?? "");
            this.expiry = Number(token.expiry ?? 0);
            this.isFree = Boolean(token.isFree);
            this.now = now;
          }

          get daysLeft() {
            return Math.floor((this.expiry - this.now) / Lease.day);
          }

          get state() {
            if (this.isFree) { return "gone"; }
            if (0 > this.daysLeft) { return "gone"; }
            return Lease.grace > this.daysLeft ? "late" : "good";
          }

          get share() {
            const share = this.daysLeft / Lease.year;
            return Math.round(100 * Math.min(1, Math.max(0, share)));
          }

          get sentence() {
            if (this.isFree) { return "\#(words.free)"; }
            if (0 > this.daysLeft) { return "\#(words.grace)"; }
            return this.daysLeft.toLocaleString("\#(words.language)") + " \#(words.left)";
          }

          get date() {
            const options = { year: "numeric", month: "long", day: "numeric" };
            return new Date(1000 * this.expiry)
              .toLocaleDateString("\#(words.language)", options);
          }

          get shortId() {
            return this.id.length > 20
              ? this.id.slice(0, 10) + "…" + this.id.slice(-8)
              : this.id;
          }
        }

        class Card {
          static element(name, className, text) {
            const element = document.createElement(name);
            if (className) { element.className = className; }
            if (text) { element.textContent = text; }
            return element;
          }

          static row(list, term, value) {
            list.append(Card.element("dt", "", term), Card.element("dd", "", value));
          }

          static bar(share) {
            const bar = Card.element("div", "bar");
            const filled = Card.element("div");
            bar.append(filled);
            requestAnimationFrame(() => { filled.style.width = share + "%"; });
            return bar;
          }

          static of(lease) {
            const card = Card.element("div", "card " + lease.state);
            const list = Card.element("dl");
            Card.row(list, "\#(words.until)", lease.date);
            Card.row(list, "\#(words.token)", lease.shortId);
            card.append(
              Card.element("h3", "", "\#(words.title)"),
              list,
              Card.bar(lease.share),
              Card.element("div", "state", lease.sentence),
              Card.element("p", "hint", "\#(words.hint)"));
            return card;
          }
        }

        web3.tokens.dataChanged = (oldTokens, updatedTokens, cardId) => {
          const now = Math.floor(Date.now() / 1000);
          const lease = new Lease(updatedTokens.currentInstance, now);
          document.getElementById(cardId).replaceChildren(Card.of(lease));
        };
      </script>
      <body>
        <div class="card">
          <h3>\#(words.title)</h3>
          <p class="hint">\#(words.hint)</p>
        </div>
      </body>
    </ts:view>
    """#
  }
}
