import JOSE
import Testing
import Vocabulary

@Suite struct NonceTests {
    private let nonces = DPoPNonces(Bench.secrets)
    /// The beginning of a window.
    private let start = UnixTime(seconds: 1_800_000_000)

    private func after(_ seconds: Int) -> UnixTime { self.start.advanced(by: .seconds(seconds)) }

    private func reading(_ nonce: String, after seconds: Int, epoch: UInt64 = 1) -> DPoPNonces.Reading {
        self.nonces.read(nonce, at: self.after(seconds), epoch: epoch)
    }

    @Test func everybodyGetsTheSameNonceWithinAWindowAndOnEveryGateway() {
        let nonce = self.nonces.current(at: self.start, epoch: 1)
        #expect(nonce.utf8.count == 28)
        #expect(self.nonces.current(at: self.after(59), epoch: 1) == nonce)
        #expect(DPoPNonces(Bench.secrets).current(at: self.after(30), epoch: 1) == nonce)
        #expect(self.nonces.current(at: self.after(60), epoch: 1) != nonce)
        #expect(self.nonces.current(at: self.after(59), epoch: 1) == nonce, "a clock that goes back")
    }

    @Test func isAcceptedForFiveMinutesFromTheBeginningOfItsWindow() {
        let nonce = self.nonces.current(at: self.start, epoch: 1)
        let end = self.after(300)
        #expect(self.reading(nonce, after: 0) == .current(end: end))
        #expect(self.reading(nonce, after: 59) == .current(end: end))
        #expect(self.reading(nonce, after: 60) == .aging(end: end))
        #expect(self.reading(nonce, after: 299) == .aging(end: end))
        #expect(self.reading(nonce, after: 300) == .unusable)
        #expect(self.reading(nonce, after: 86_400 * 365) == .unusable)
    }

    @Test func isAcceptedByAGatewayWhoseClockIsAWindowBehind() {
        let nonce = self.nonces.current(at: self.start, epoch: 1)
        #expect(self.reading(nonce, after: -1) == .current(end: self.after(300)))
        #expect(self.reading(nonce, after: -60) == .current(end: self.after(300)))
        #expect(self.reading(nonce, after: -61) == .unusable)
    }

    @Test func isAcceptedUnderAnAcceptedSecretAndReplacedByOneOfTheCurrentSecret() {
        let next = Secret("the next secret of the gateways, also long")
        let nonce = self.nonces.current(at: self.start, epoch: 1)
        let rotated = DPoPNonces(SecretRing(current: next, accepted: [Bench.secrets.current]))
        #expect(rotated.read(nonce, at: self.start, epoch: 1) == .aging(end: self.after(300)))
        let fresh = rotated.current(at: self.start, epoch: 1)
        #expect(fresh != nonce)
        #expect(rotated.read(fresh, at: self.start, epoch: 1) == .current(end: self.after(300)))
        let waiting = DPoPNonces(SecretRing(current: Bench.secrets.current, accepted: [next]))
        #expect(waiting.read(fresh, at: self.start, epoch: 1) == .aging(end: self.after(300)))
        #expect(waiting.current(at: self.start, epoch: 1) == nonce)
    }

    @Test func isNotAcceptedUnderAnotherSecret() {
        let nonce = self.nonces.current(at: self.start, epoch: 1)
        for number in 0..<600 {
            let other = DPoPNonces(SecretRing(current: Secret("another secret, the one with number \(number)")))
            #expect(other.read(nonce, at: self.start, epoch: 1) == .unusable)
        }
    }

    @Test func isNotAcceptedInAnotherEpoch() {
        let nonce = self.nonces.current(at: self.start, epoch: 1)
        #expect(self.reading(nonce, after: 0, epoch: 2) == .unusable)
        let next = self.nonces.current(at: self.start, epoch: 2)
        #expect(next != nonce)
        #expect(self.reading(next, after: 0, epoch: 2) == .current(end: self.after(300)))
    }

    @Test func isNotAcceptedWithAnyChangedCharacter() {
        let nonce = bytes(self.nonces.current(at: self.start, epoch: 1))
        for index in nonce.indices {
            var changed = nonce
            changed[index] = changed[index] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
            #expect(self.reading(String(decoding: changed, as: UTF8.self), after: 0) == .unusable, "character \(index)")
        }
    }

    @Test(arguments: [
        "", "a", String(repeating: "A", count: 28), String(repeating: "=", count: 28),
        String(repeating: "A", count: 27),
        String(repeating: "A", count: 100_000), "\u{0}", String(repeating: "é", count: 14),
    ])
    func whatIsNoneIsNotAccepted(_ text: String) {
        #expect(self.reading(text, after: 0) == .unusable)
    }
}
