extension DemoFile {
  /// USD Coin, with a card that tells whether its transfers are stopped.
  static let usdc = DemoMarkup.token(
    "USDC", at: "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48", isCustodian: true,
    label: DemoMarkup.element("ts:label", DemoMarkup.plurals("en", "USD Coin", "USD Coins")),
    #"""
    <ts:selection name="stopped" filter="paused=TRUE">
      <ts:label>
        <ts:string xml:lang="en">Transfers are stopped</ts:string>
      </ts:label>
    </ts:selection>
    """#,
    DemoMarkup.element(
      "ts:cards",
      DemoMarkup.element(
        "ts:card type=\"token\" name=\"state\"", DemoMarkup.itemView("USD Coin"),
        #"""
        <ts:view xml:lang="en">
          <style type="text/css">p { font-family: sans-serif; }</style>
          <script type="text/javascript">
            web3.tokens.dataChanged = (oldTokens, updatedTokens, cardId) => {
              const token = updatedTokens.currentInstance;
              const text = document.createElement("p");
              text.textContent = token.paused
                ? "The issuer has stopped all transfers."
                : "Transfers are possible.";
              document.getElementById(cardId).replaceChildren(text);
            };
          </script>
          <body><p>…</p></body>
        </ts:view>
        """#)),
    DemoMarkup.attribute(
      "paused", syntax: 7, label: ["en": "Transfers are stopped"],
      from: DemoMarkup.call("paused", of: "USDC", as: "bool")))
}
