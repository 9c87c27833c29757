import AddressIntelligence
import Sessions
import Vocabulary

/// The rate limits of sign-ins with a password. An IPv6 /64 is treated as one address. An attacker may have many
/// neighbouring addresses, so blocks of addresses have limits, too. Larger blocks have higher limits.
///
/// No limit applies to a user alone, because anyone could then lock out any user from anywhere. For an address from
/// which the user has signed in before, only the first two limits apply, so that neighbours cannot lock users out.
struct SignInLimits {
    /// The limit for one address, with any users: 50 tries at once, then one per second.
    private static let perAddress = RateLimit("signin.address", burst: 50, interval: .seconds(1))
    /// The limit for one user from one address: 10 tries at once, then one per 10 seconds. A success resets it.
    private static let perUser = RateLimit("signin.user", burst: 10, interval: .seconds(10))
    /// The limit for one user from the addresses of one network, an IPv6 /48 or an IPv4 /24.
    private static let perUserAndNetwork = RateLimit("signin.user_network", burst: 30, interval: .seconds(5))
    /// The limit for an IPv6 /56, a common assignment to one household (RFC 6177 2).
    private static let perHousehold = RateLimit("signin.household", burst: 100, interval: .milliseconds(500))
    /// The limit for an IPv6 /48.
    private static let perSite = RateLimit("signin.site", burst: 200, interval: .milliseconds(250))
    /// The limit for an IPv4 /24, twice the limit for an IPv6 /48, because each IPv4 address may have many users.
    private static let perIPv4Network = RateLimit("signin.ipv4_network", burst: 400, interval: .milliseconds(125))

    /// Returns whether a limit counts the tries of each user separately.
    static func countsUsers(_ limit: RateLimit) -> Bool { limit == Self.perUser || limit == Self.perUserAndNetwork }

    /// All buckets in which a try is counted.
    let tries: [RateBucket]
    /// The bucket that a success empties.
    let user: RateBucket

    /// - Parameters:
    ///   - user: The tried user, normalised (CVE-2025-24806). `nil` for input that cannot be an identifier. All such
    ///     input shares an empty name.
    ///   - isFamiliar: True if this user has signed in from this address before.
    init(address: IPAddress, user: UserIdentifier?, isFamiliar: Bool) {
        let key = Array(address.key.description.utf8)
        let name = user?.bytes ?? []
        self.user = RateBucket(Self.perUser, key, name)
        var tries = [RateBucket(Self.perAddress, key), self.user]
        if !isFamiliar {
            func block(_ v4: Int, _ v6: Int) -> [UInt8] {
                Array(CIDRBlock(networkOf: address, v4: v4, v6: v6).description.utf8)
            }
            let network = block(24, 48)
            tries.append(RateBucket(Self.perUserAndNetwork, network, name))
            if address.key.isV4 {
                tries.append(RateBucket(Self.perIPv4Network, network))
            } else {
                tries += [RateBucket(Self.perHousehold, block(24, 56)), RateBucket(Self.perSite, network)]
            }
        }
        self.tries = tries
    }
}
