import Foundation

/// What the app keeps of a sign-in: either gives transfer tokens.
public enum Credential: Codable, Sendable, Equatable {
    /// From `/authorize`. Each use replaces it.
    case refreshToken(String)
    /// From the exchange of two codes. It stays the same until the session ends, and is the app's access token, too.
    case sessionToken(String)
}

/// Where the app keeps it.
public protocol TokenStore: Sendable {
    /// Nil if nothing is kept. It throws if that cannot be known, as before the first unlock: the user is not signed out then.
    func load() throws -> Credential?
    func save(_ credential: Credential) throws
    func delete() throws
}

#if canImport(Security)
import Security

/// The keychain, on this device only, and readable once the device has been unlocked after it was started. It survives the
/// deletion of the app: call `delete` at the app's first start.
public struct KeychainStore: TokenStore {
    public struct Failure: Error { public let status: OSStatus }

    private let service: String

    /// - Parameter service: The name of the item, e.g. the app's bundle identifier.
    public init(service: String) {
        self.service = service
    }

    private var item: [String: Any] {
        [
            kSecClass as String: kSecClassGenericPassword, kSecAttrService as String: self.service,
            kSecAttrAccount as String: "credential", kSecUseDataProtectionKeychain as String: true,
        ]
    }

    public func load() throws -> Credential? {
        var query = self.item
        query[kSecReturnData as String] = true
        var found: CFTypeRef?
        let status = SecItemCopyMatching(query as CFDictionary, &found)
        if status == errSecItemNotFound { return nil }
        guard status == errSecSuccess, let data = found as? Data else { throw Failure(status: status) }
        // What an older version of the app kept in another form is of no use: the user signs in again.
        return try? JSONDecoder().decode(Credential.self, from: data)
    }

    public func save(_ credential: Credential) throws {
        let values: [String: Any] = [
            kSecValueData as String: try JSONEncoder().encode(credential),
            kSecAttrAccessible as String: kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly,
        ]
        var status = SecItemUpdate(self.item as CFDictionary, values as CFDictionary)
        if status == errSecItemNotFound {
            status = SecItemAdd(self.item.merging(values) { $1 } as CFDictionary, nil)
        }
        guard status == errSecSuccess else { throw Failure(status: status) }
    }

    public func delete() throws {
        let status = SecItemDelete(self.item as CFDictionary)
        guard status == errSecSuccess || status == errSecItemNotFound else { throw Failure(status: status) }
    }
}
#endif
