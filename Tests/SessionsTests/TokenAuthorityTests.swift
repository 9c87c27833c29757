import Cryptography
import Sessions
import Testing
import Vocabulary

@Suite struct TokenAuthorityTests {
    private let authority = testAuthority

    @Test("A token has the documented form and determines its record's key", arguments: [TokenKind.session, .transfer])
    func roundTrip(_ kind: TokenKind) throws {
        let lineage = self.authority.newLineage()
        let made = self.authority.make(kind, in: lineage)
        let text = String(decoding: made.token.bytes, as: UTF8.self)
        #expect(text.utf8.count == TokenAuthority.tokenLength)
        #expect(text.hasPrefix(kind.prefix))
        #expect(text.dropFirst(6).hasPrefix(lineage.tag))
        let key = try #require(self.authority.key(kind, of: made.token.bytes))
        #expect(key == made.key)
        #expect(key.lineage == lineage)
        #expect(!text.contains(key.digest.base64URL))
    }

    @Test("A token of one kind is not accepted as another kind")
    func kinds() {
        let made = self.authority.make(.session, in: self.authority.newLineage())
        #expect(self.authority.key(.transfer, of: made.token.bytes) == nil)
    }

    @Test("All tokens and lineages are different")
    func unique() {
        let lineage = self.authority.newLineage()
        let tokens = Set((0..<1000).map { _ in self.authority.make(.session, in: lineage).token })
        #expect(tokens.count == 1000)
        #expect(Set((0..<1000).map { _ in self.authority.newLineage() }).count == 1000)
        #expect(lineage.tag.utf8.count == 10)
    }

    @Test("Another secret gives another key, and the same secret the same key")
    func secrets() {
        let made = self.authority.make(.session, in: self.authority.newLineage())
        let twin = TokenAuthority(secret: Secret("a secret of the tests"))
        let stranger = TokenAuthority(secret: Secret("another secret"))
        #expect(twin.key(.session, of: made.token.bytes) == made.key)
        #expect(stranger.key(.session, of: made.token.bytes) != made.key)
    }

    @Test("After a rotation, new tokens are made with the new secret and the old ones are still found")
    func rotation() throws {
        let former = Secret("a secret of the tests")
        let rotated = TokenAuthority(current: Secret("its successor"), accepted: [Secret("older still"), former])
        let old = self.authority.make(.session, in: self.authority.newLineage())
        #expect(rotated.key(.session, of: old.token.bytes) == old.key)
        let new = rotated.make(.session, in: old.key.lineage)
        #expect(rotated.key(.session, of: new.token.bytes) == new.key)
        #expect(self.authority.key(.session, of: new.token.bytes) != new.key)
        let keyID = String(decoding: new.token.bytes[4..<6], as: UTF8.self)
        #expect(keyID == TokenAuthority.keyID(of: Secret("its successor")))
        #expect(keyID != TokenAuthority.keyID(of: former))
        // The first stays the first, however often it is listed.
        let repeated = TokenAuthority(current: former, accepted: [former, Secret("its successor")])
        #expect(repeated.key(.session, of: new.token.bytes) == new.key)
        #expect(repeated.key(.session, of: repeated.make(.session, in: old.key.lineage).token.bytes) != nil)
    }

    @Test("A token of a secret that is not accepted is told apart from a malformed one, and has no key")
    func unknownKeyID() throws {
        let stranger = TokenAuthority(secret: Secret("another secret"))
        let foreign = stranger.make(.session, in: stranger.newLineage())
        let rotated = TokenAuthority(current: Secret("its successor"), accepted: [Secret("a secret of the tests")])
        #expect(rotated.read(.session, foreign.token.bytes) == .otherKey)
        #expect(rotated.key(.session, of: foreign.token.bytes) == nil)
        #expect(rotated.read(.transfer, foreign.token.bytes) == .malformed)
        #expect(rotated.read(.session, Array(foreign.token.bytes.dropLast())) == .malformed)
        #expect(stranger.read(.session, foreign.token.bytes) == .record(foreign.key))
    }

    @Test("A token with any byte changed has another key or is refused")
    func everyByteCounts() {
        let made = self.authority.make(.session, in: self.authority.newLineage())
        for index in made.token.bytes.indices {
            var bytes = made.token.bytes
            bytes[index] = bytes[index] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
            #expect(self.authority.key(.session, of: bytes) != made.key)
        }
    }

    @Test("A token with the wrong syntax has no key: too long, too short, NUL, non-ASCII, percent-encoded, plus (T32)")
    func syntax() {
        for bytes in oddTokens() {
            #expect(self.authority.key(.session, of: bytes) == nil)
        }
    }

    @Test("The public id is not a credential")
    func sessionID() {
        let id = self.authority.newSessionID()
        #expect(id.hasPrefix("ses_"))
        #expect(self.authority.key(.session, of: Array(id.utf8)) == nil)
        #expect(self.authority.newAttempt() != self.authority.newAttempt())
    }
}

/// Tokens that must be refused for their syntax alone.
func oddTokens() -> [[UInt8]] {
    let good = testAuthority.make(.session, in: testAuthority.newLineage()).token.bytes
    func replacing(_ bytes: [UInt8], at index: Int = 30) -> [UInt8] {
        Array(good[..<index]) + bytes + Array(good[(index + bytes.count)...])
    }
    return [
        [],
        Array(good.dropLast()),
        good + [UInt8(ascii: "A")],
        good + [0],
        Array(repeating: UInt8(ascii: "A"), count: 8192),
        Array(good.prefix(4)) + Array(repeating: UInt8(ascii: "A"), count: 8188),
        replacing([0]),
        replacing([0x7F]),
        replacing([0xC3, 0xA9]),
        replacing([0xFF]),
        replacing(Array("%41".utf8)),
        replacing(Array("+".utf8)),
        replacing(Array("/".utf8)),
        replacing(Array("=".utf8)),
        replacing(Array(" ".utf8)),
        replacing(Array("\r\n".utf8)),
        replacing(Array("{".utf8), at: 7),
        replacing(Array("}".utf8), at: 8),
        replacing(Array(":".utf8), at: 5),
        replacing(Array("SPS_".utf8), at: 0),
        replacing(Array("spt_".utf8), at: 0),
        good.map { $0 | 0x80 },
    ]
}
