import Foundation

public typealias OSStatus = Int32
public typealias CFDictionary = [String: Any]
public typealias CFTypeRef = Any

public let errSecSuccess: OSStatus = 0
public let errSecItemNotFound: OSStatus = -25300
public let errSecDuplicateItem: OSStatus = -25299
public let errSecParam: OSStatus = -50
public let kSecClass = "class"
public let kSecClassGenericPassword = "genp"
public let kSecAttrService = "svce"
public let kSecAttrAccount = "acct"
public let kSecAttrAccessible = "pdmn"
public let kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly = "cku"
public let kSecUseDataProtectionKeychain = "nleg"
public let kSecReturnData = "r_Data"
public let kSecValueData = "v_Data"

private final class Keychain: @unchecked Sendable {
    static let shared = Keychain()
    let lock = NSLock()
    var items: [String: Data] = [:]
}

private func key(_ query: CFDictionary) -> String? {
    guard query[kSecClass] as? String == kSecClassGenericPassword, let service = query[kSecAttrService] as? String,
        let account = query[kSecAttrAccount] as? String
    else { return nil }
    return "\(service) \(account)"
}

public func SecItemCopyMatching(_ query: CFDictionary, _ result: UnsafeMutablePointer<CFTypeRef?>?) -> OSStatus {
    guard let key = key(query) else { return errSecParam }
    return Keychain.shared.lock.withLock {
        guard let data = Keychain.shared.items[key] else { return errSecItemNotFound }
        if query[kSecReturnData] as? Bool == true { result?.pointee = data }
        return errSecSuccess
    }
}

public func SecItemUpdate(_ query: CFDictionary, _ values: CFDictionary) -> OSStatus {
    guard let key = key(query), values[kSecClass] == nil, let data = values[kSecValueData] as? Data else {
        return errSecParam
    }
    return Keychain.shared.lock.withLock {
        guard Keychain.shared.items[key] != nil else { return errSecItemNotFound }
        Keychain.shared.items[key] = data
        return errSecSuccess
    }
}

public func SecItemAdd(_ item: CFDictionary, _ result: UnsafeMutablePointer<CFTypeRef?>?) -> OSStatus {
    guard let key = key(item), let data = item[kSecValueData] as? Data,
        item[kSecAttrAccessible] as? String == kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly
    else { return errSecParam }
    return Keychain.shared.lock.withLock {
        guard Keychain.shared.items[key] == nil else { return errSecDuplicateItem }
        Keychain.shared.items[key] = data
        return errSecSuccess
    }
}

public func SecItemDelete(_ query: CFDictionary) -> OSStatus {
    guard let key = key(query) else { return errSecParam }
    return Keychain.shared.lock.withLock {
        Keychain.shared.items.removeValue(forKey: key) == nil ? errSecItemNotFound : errSecSuccess
    }
}
