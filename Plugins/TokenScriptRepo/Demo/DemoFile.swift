/// A TokenScript of the demo, without its signature.
struct DemoFile: Sendable {
  /// The path below the repository's root.
  let path: String
  /// The signer of the file.
  let signer: DemoSigner
  /// The document.
  let text: String

  /// All files of the demo, in both layouts: `<signer>/<YYYY>/<MM>/<contract>.tsml`, and the older
  /// `<contract>/schema…/<signer>-signed.xml`.
  static let all = [
    DemoFile(path: "demo.awd.example/2020/03/DAI.tsml", signer: .demo, text: dai202003),
    DemoFile(path: "demo.awd.example/2020/06/DAI.tsml", signer: .demo, text: dai202006),
    DemoFile(path: "demo.awd.example/2020/06/ENS.tsml", signer: .demo, text: ens),
    DemoFile(path: "demo.awd.example/2020/06/USDC.tsml", signer: .demo, text: usdc),
    DemoFile(
      path: "USDC/schema2020-06/guild.awd.example-signed.xml", signer: .guild, text: usdc),
    DemoFile(path: "WETH/schema2020-06/signed.xml", signer: .owner, text: weth),
  ]
}
