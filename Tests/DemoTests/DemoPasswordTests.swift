import Cryptography
import Foundation
import GatewayBench
import TestSupport
import Testing
import Vocabulary

/// The user whom everybody tries the gateway with.
@Suite struct DemoPasswordTests {
    @Test(
        "Ada has one password wherever she is: in the demo, in compose, in Kubernetes and in Helm",
        arguments: [
            "deploy/compose/sallyport.yaml", "deploy/kubernetes/overlays/single/sallyport.yaml",
            "deploy/helm/examples/single.values.yaml", "deploy/helm/examples/single.yaml",
        ]
    )
    func isTheSameEverywhere(_ path: String) throws {
        let text = try String(contentsOf: Gateway.root.appending(path: path), encoding: .utf8)
        let hash = try #require(text.firstMatch(of: /password_hash"?: "?(scrypt:[^"\s]+)/)?.1)
        #expect(Scrypt.verify(password: Array("analytical-engine".utf8), encoded: Secret(String(hash))))
        #expect(!text.contains("analytical engine"))
        #expect(try Document("README.md").text.contains("with the password `analytical-engine`"))
    }
}
