/// The limits of accepted sizes. Larger inputs are rejected before they are read.
package enum JOSELimits {
    /// The bytes of a token in compact form. An id_token with the groups of a large company has tens of kilobytes.
    /// Access tokens must fit into a header field and have a separate limit.
    package static let token = 65_536
    /// The bytes of a key set's document.
    package static let keySet = 262_144
    /// The keys of a set, including those that are left out.
    package static let keys = 100
    /// The maximum nesting depth of a JSON document.
    static let depth = 16
    /// The keys that are tried for one token: keys that fit its algorithm and, if it has a `kid`, have that `kid`.
    static let attempts = 16
}
