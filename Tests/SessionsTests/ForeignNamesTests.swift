import Cryptography
import Sessions
import Testing
import Vocabulary

/// Expected values are computed apart from the gateway: records and ended tokens of earlier versions must be found.
@Suite("The names of a provider's tokens") struct ForeignNamesTests {
    private let names = ForeignNames(
        TokenAuthority(secret: Secret("a secret")),
        provider: "idp",
        configuration: "1"
    )

    private func key(_ token: String, as kind: Session.Kind) -> RecordKey {
        Array(token.utf8).withUnsafeBytes { self.names.key(of: $0, as: kind) }
    }

    @Test("A token's lineage and keys never change") func keys() {
        let token = self.key("a token", as: .native)
        #expect(token.kind == .foreignSession && token.lineage.tag == "UFVXIw8xcK")
        #expect(token.digest.base64URL == "YdhCYnOOalFLScl4ZNuZlf6J4IcTpzJwDOopWwlZLQ4")
        let cookie = self.key("a token", as: .web)
        #expect(cookie.lineage == token.lineage)
        #expect(cookie.digest.base64URL == "FQ8L1yzjF8GfTjVRyfCMZhZVcSjEayGX1qKnYNzd3qY")
        #expect(Array("a token".utf8).withUnsafeBytes { self.names.lineages(of: $0) } == [token.lineage])
    }

    @Test("Nor do the public ids of its session") func sessionIDs() {
        #expect(self.names.sessionID(session: "sid-1") == "ses_oU2j05VHfKZkt42dpdyX6A")
        #expect(self.names.sessionID(token: Lineage(tag: "UFVXIw8xcK")) == "ses_6XaCR9gICRM91AfilRjzpw")
    }
}
