package com.example.app

import android.content.Context
import android.content.SharedPreferences
import android.security.keystore.KeyGenParameterSpec
import android.security.keystore.KeyProperties
import java.security.GeneralSecurityException
import java.security.KeyStore
import java.util.Base64
import javax.crypto.Cipher
import javax.crypto.KeyGenerator
import javax.crypto.SecretKey
import javax.crypto.spec.GCMParameterSpec

/** Where the app keeps what nobody else may read, by name. */
interface TokenStore {
    fun load(name: String): String?

    fun save(name: String, value: String)

    fun delete(name: String)
}

/** Preferences, encrypted by a key of the Keystore, which leaves the device in no form. */
class KeystoreStore(context: Context) : TokenStore {
    private val preferences: SharedPreferences = context.getSharedPreferences("sallyport", Context.MODE_PRIVATE)

    override fun load(name: String): String? {
        val kept = preferences.getString(name, null)?.split(" ")?.map { Base64.getDecoder().decode(it) } ?: return null
        return try {
            val cipher = Cipher.getInstance("AES/GCM/NoPadding")
            cipher.init(Cipher.DECRYPT_MODE, key(), GCMParameterSpec(128, kept[0]))
            cipher.updateAAD(name.toByteArray())
            String(cipher.doFinal(kept[1]))
        } catch (_: GeneralSecurityException) {
            // Another key, as on a device to which the preferences were copied: the user signs in again.
            delete(name)
            null
        }
    }

    /** On disk when it returns: the token that it replaces counts no more. */
    override fun save(name: String, value: String) {
        val cipher = Cipher.getInstance("AES/GCM/NoPadding")
        cipher.init(Cipher.ENCRYPT_MODE, key())
        cipher.updateAAD(name.toByteArray())
        val sealed = cipher.doFinal(value.toByteArray())
        val text = listOf(cipher.iv, sealed).joinToString(" ") { Base64.getEncoder().encodeToString(it) }
        preferences.edit().putString(name, text).commit()
    }

    override fun delete(name: String) {
        preferences.edit().remove(name).commit()
    }

    private fun key(): SecretKey {
        val keys = KeyStore.getInstance(PROVIDER).apply { load(null) }
        (keys.getKey(ALIAS, null) as? SecretKey)?.let { return it }
        val purposes = KeyProperties.PURPOSE_ENCRYPT or KeyProperties.PURPOSE_DECRYPT
        val form = KeyGenParameterSpec.Builder(ALIAS, purposes)
            .setBlockModes(KeyProperties.BLOCK_MODE_GCM)
            .setEncryptionPaddings(KeyProperties.ENCRYPTION_PADDING_NONE)
            .setKeySize(256)
            .build()
        return KeyGenerator.getInstance("AES", PROVIDER).apply { init(form) }.generateKey()
    }

    private companion object {
        const val PROVIDER = "AndroidKeyStore"
        const val ALIAS = "sallyport"
    }
}
