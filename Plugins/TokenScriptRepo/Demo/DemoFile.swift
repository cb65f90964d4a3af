/// A TokenScript of the demo, without its signature.
struct DemoFile: Sendable {
  /// The path below the repository's root.
  let path: String
  /// The signer of the file.
  let signer: DemoSigner
  /// The document in UTF-8.
  let bytes: [UInt8]

  /// All files of the demo, in both layouts: `<signer>/<YYYY>/<MM>/<contract>.tsml`, and the older
  /// `<contract>/schema…/<signer>-signed.xml`.
  static let all = [
    DemoFile(
      path: "demo.awd.example/2020/03/DAI.tsml", signer: .demo,
      bytes: PackageResources.DAI_2020_03_tsml),
    DemoFile(
      path: "demo.awd.example/2020/06/DAI.tsml", signer: .demo, bytes: PackageResources.DAI_tsml),
    DemoFile(
      path: "demo.awd.example/2020/06/ENS.tsml", signer: .demo, bytes: PackageResources.ENS_tsml),
    DemoFile(
      path: "demo.awd.example/2020/06/USDC.tsml", signer: .demo,
      bytes: PackageResources.USDC_tsml),
    DemoFile(
      path: "USDC/schema2020-06/guild.awd.example-signed.xml", signer: .guild,
      bytes: PackageResources.USDC_tsml),
    DemoFile(
      path: "WETH/schema2020-06/signed.xml", signer: .owner, bytes: PackageResources.WETH_tsml),
  ]
}
