package import Foundation

/// The package's folder on disk.
package enum PackageFolder {
    /// Its root: the nearest folder above this file that holds `Package.swift`.
    package static let root: URL = {
        var folder = URL(filePath: #filePath).deletingLastPathComponent()
        while folder.path != "/", !FileManager.default.fileExists(atPath: folder.appending(path: "Package.swift").path)
        {
            folder.deleteLastPathComponent()
        }
        return folder
    }()
}
