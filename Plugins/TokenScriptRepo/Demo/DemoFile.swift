internal import TokenScriptRepoResources
internal import Platform
/// The TokenScripts of the demo.
enum DemoFile {
  /// The files in both layouts, `<signer>/<YYYY>/<MM>/<contract>.tsml` and the older
  /// `<contract>/schema…/<signer>-signed.xml`: the path below the root, the signer, and the document without a signature.
  static let all: [(path: String, signer: DemoSigner, bytes: [UInt8])] = [
    ("demo.awd.example/2020/03/DAI.tsml", .demo, Resource(tokenscript_DAI_2020_03_tsml()).bytes),
    ("demo.awd.example/2020/06/DAI.tsml", .demo, Resource(tokenscript_DAI_tsml()).bytes),
    ("demo.awd.example/2020/06/ENS.tsml", .demo, Resource(tokenscript_ENS_tsml()).bytes),
    ("demo.awd.example/2020/06/USDC.tsml", .demo, Resource(tokenscript_USDC_tsml()).bytes),
    (
      "USDC/schema2020-06/guild.awd.example-signed.xml", .guild,
      Resource(tokenscript_USDC_tsml()).bytes
    ),
    ("WETH/schema2020-06/signed.xml", .owner, Resource(tokenscript_WETH_tsml()).bytes),
  ]
}
