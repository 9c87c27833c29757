import Cryptography
import SignOn
import StoreBench
import Testing
import Vocabulary

@Suite("The way back from a sign-out at the provider")
struct SignOutReturnTests {
    private let time = MovableClock()
    private let secret = Secret("a secret of at least thirty-two bytes, for tests")
    private let place = SignOutReturn(origin: "https://app.example.com", path: "/goodbye?of=me")

    private func seal(_ current: Secret, accepted: [Secret] = []) -> SignOutReturnSeal {
        SignOutReturnSeal(SealingKeyRing(current: current, accepted: accepted), clock: self.time.clock)
    }

    @Test("It is read for an hour, also after a change of secret, and shows nothing of itself")
    func read() {
        let text = self.seal(self.secret).seal(self.place)
        #expect(
            !text.contains("goodbye") && text.utf8.allSatisfy { $0 != UInt8(ascii: "=") && $0 != UInt8(ascii: "+") }
        )
        let next = Secret("another secret of at least thirty-two bytes")
        #expect(self.seal(next, accepted: [self.secret]).open(text) == self.place)
        #expect(self.seal(next).open(text) == nil)
        self.time.advance(by: .seconds(3601))
        #expect(self.seal(self.secret).open(text) == nil)
    }

    @Test("A text of which one character is changed, or that is too long, is not read; a long path is left out")
    func tampered() {
        let seal = self.seal(self.secret)
        let text = seal.seal(self.place)
        for index in stride(from: 0, to: text.utf8.count, by: 3) {
            var bytes = Array(text.utf8)
            bytes[index] = bytes[index] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
            #expect(seal.open(String(decoding: bytes, as: UTF8.self)) == nil)
        }
        #expect(seal.open(String(repeating: "A", count: 3000)) == nil && seal.open("") == nil)
        let long = SignOutReturn(origin: self.place.origin, path: "/" + String(repeating: "a", count: 1200))
        #expect(seal.open(seal.seal(long)) == SignOutReturn(origin: self.place.origin, path: "/"))
    }
}
