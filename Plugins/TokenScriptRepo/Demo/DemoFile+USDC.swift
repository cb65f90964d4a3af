extension DemoFile {
  /// USD Coin, with a card that tells whether its transfers are stopped.
  static let usdc = #"""
    <?xml version="1.0" encoding="UTF-8"?>
    <ts:token xmlns:ts="http://tokenscript.org/2020/06/tokenscript"
              xmlns:ethereum="urn:ethereum:constantinople"
              xmlns="http://www.w3.org/1999/xhtml"
              custodian="true">
      <ts:label>
        <ts:plurals xml:lang="en">
          <ts:string quantity="one">USD Coin</ts:string>
          <ts:string quantity="other">USD Coins</ts:string>
        </ts:plurals>
      </ts:label>
      <ts:contract name="USDC" interface="erc20">
        <ts:address network="1">0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48</ts:address>
      </ts:contract>
      <ts:origins>
        <ts:ethereum contract="USDC"/>
      </ts:origins>
      <ts:selection name="stopped" filter="paused=TRUE">
        <ts:label>
          <ts:string xml:lang="en">Transfers are stopped</ts:string>
        </ts:label>
      </ts:selection>
      <ts:cards>
        <ts:card type="token" name="state">
          <ts:item-view xml:lang="en">
            <style type="text/css">p { margin: 0; font-family: sans-serif; }</style>
            <body><p>USD Coin</p></body>
          </ts:item-view>
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
        </ts:card>
      </ts:cards>
      <ts:attribute name="paused">
        <ts:type>
          <ts:syntax>1.3.6.1.4.1.1466.115.121.1.7</ts:syntax>
        </ts:type>
        <ts:label>
          <ts:string xml:lang="en">Transfers are stopped</ts:string>
        </ts:label>
        <ts:origins>
          <ethereum:call function="paused" contract="USDC" as="bool"/>
        </ts:origins>
      </ts:attribute>
    </ts:token>

    """#
}
