internal import AddressIntelligence
internal import Providers
internal import Sessions

/// What a sign-in with a password counts against. A device is known by its address key (an IPv6 /64 is one).
///
/// Nothing is counted for a user alone: then anybody could lock anybody out, from anywhere.
struct SignInLimits {
    /// One address, whomever it tries: fifty tries, then one a second.
    private static let perAddress = RateLimit("signin.address", burst: 50, interval: .seconds(1))
    /// One user from one address: ten tries, then one in ten seconds. A success empties it, which frees no other user's.
    private static let perUser = RateLimit("signin.user", burst: 10, interval: .seconds(10))

    let address: RateBucket
    let user: RateBucket

    /// - Parameter identifier: What the user typed. It counts in its one spelling (CVE-2025-24806, peers #67); what can be
    ///   nobody's identifier counts together.
    init(address: IPAddress, identifier: String) {
        let address = Array(address.key.description.utf8)
        self.address = RateBucket(Self.perAddress, address)
        self.user = RateBucket(Self.perUser, address, UserIdentifier(identifier)?.bytes ?? [])
    }
}
