extension DemoFile {
  /// Wrapped Ether, with a card that changes it back.
  static let weth = DemoMarkup.token(
    "WETH", at: "0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2",
    label: DemoMarkup.element(
      "ts:label", DemoMarkup.strings(["en": "Wrapped Ether", "de": "Ether in Tokenform"])),
    DemoMarkup.element(
      "ts:cards",
      DemoMarkup.element(
        "ts:card type=\"token\" name=\"about\"", DemoMarkup.itemView("Wrapped Ether")),
      DemoMarkup.element(
        "ts:card type=\"action\" name=\"unwrap\"",
        DemoMarkup.element(
          "ts:label",
          DemoMarkup.strings(["en": "Change back to Ether", "de": "In Ether zurücktauschen"])),
        DemoMarkup.attribute(
          "amount", syntax: 36, label: ["en": "Amount", "de": "Betrag"],
          from: "<ts:user-entry as=\"e18\"/>"),
        #"""
        <ts:transaction>
          <ethereum:transaction function="withdraw" contract="WETH">
            <ts:data>
              <ts:uint256 ref="amount"/>
            </ts:data>
          </ethereum:transaction>
        </ts:transaction>
        <ts:view xml:lang="en">
          <style type="text/css">
            label, input { display: block; font-family: sans-serif; }
            input { margin-top: 0.5em; width: 100%; font-size: 1.2em; }
          </style>
          <body>
            <div>
              <label for="amount">How much?</label>
              <input id="amount" type="text" value="0"/>
            </div>
          </body>
        </ts:view>
        """#)))
}
