extension DemoFile {
  /// Dai, in the version of March 2020.
  static let dai202003 = dai(
    "2020/03", label: "ts:name",
    DemoMarkup.element("ts:cards", DemoMarkup.element("ts:token", daiViews)),
    #"""
    <ts:attribute-type id="balance" syntax="1.3.6.1.4.1.1466.115.121.1.36">
      <ts:name>
        <ts:string xml:lang="en">Balance</ts:string>
        <ts:string xml:lang="es">Saldo</ts:string>
      </ts:name>
      <ts:origins>
        <ts:ethereum function="balanceOf" contract="DAI" as="e18">
          <ts:data>
            <ts:address ref="ownerAddress"/>
          </ts:data>
        </ts:ethereum>
      </ts:origins>
    </ts:attribute-type>
    """#)

  /// Dai, in the version of June 2020.
  static let dai202006 = dai(
    "2020/06", label: "ts:label",
    DemoMarkup.element(
      "ts:cards", DemoMarkup.element("ts:card type=\"token\" name=\"balance\"", daiViews)),
    DemoMarkup.attribute(
      "balance", syntax: 36, label: ["en": "Balance", "es": "Saldo"],
      from: DemoMarkup.call(
        "balanceOf", of: "DAI", as: "e18", with: "<ts:address ref=\"ownerAddress\"/>")),
    DemoMarkup.attribute(
      "supply", syntax: 36, label: ["en": "All Dai there is", "es": "Total de Dai"],
      from: DemoMarkup.call("totalSupply", of: "DAI", as: "e18")))

  private static func dai(
    _ schema: String, label: String, _ content: String...
  ) -> String {
    DemoMarkup.token(
      "DAI", at: "0x6B175474E89094C44Da98b954EedeAC495271d0F", schema: schema,
      label: DemoMarkup.element(
        label, DemoMarkup.plurals("en", "Dai token", "Dai tokens"),
        DemoMarkup.plurals("es", "Ficha Dai", "Fichas Dai")),
      content.joined(separator: "\n"))
  }

  private static let daiViews = """
    \(DemoMarkup.itemView("Dai"))
    <ts:view xml:lang="en">
      <style type="text/css">
        h3 { font-family: sans-serif; }
        p { font-family: sans-serif; color: #444; }
      </style>
      <body>
        <h3>Dai</h3>
        <p>A token that is meant to be worth one US dollar.</p>
      </body>
    </ts:view>
    """
}
