import COpenSSL

/// Returns true if two arrays are equal, in a time that does not depend on where they differ. Only their lengths leak.
package func constantTimeEqual(_ left: [UInt8], _ right: [UInt8]) -> Bool {
    left.withUnsafeBytes { left in right.withUnsafeBytes { constantTimeEqual(left, $0) } }
}

/// Returns true if two buffers are equal, in a time that does not depend on where they differ. Only their lengths leak.
package func constantTimeEqual(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Bool {
    let count = left.count
    guard right.count == count else { return false }
    guard let left = left.baseAddress, let right = right.baseAddress, count > 0 else { return true }
    return CRYPTO_memcmp(left, right, count) == 0
}
