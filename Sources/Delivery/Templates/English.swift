extension BuiltIn {
  static let english = [
    "phone_code": """
      Subject: Your code

      Your code is {{code}}. It is valid for {{lifetime}}. Do not share it with anyone.
      """,
    "second_factor_code": """
      Subject: Your code

      Your code for signing in is {{code}}. It is valid for {{lifetime}}. Do not share it with anyone.
      """,
    "email_link": """
      Subject: Sign in

      You can sign in with this link:

      {{link}}

      The link works once and is valid for {{lifetime}}. If you did not ask for it, ignore this message.
      """,
    "sign_up": """
      Subject: Finish signing up

      You can finish signing up as {{to}} here:

      {{link}}

      The link works once and is valid for {{lifetime}}. If you did not ask for it, ignore this message: there is no
      account yet.
      """,
    "sign_up_known": """
      Subject: You have an account already

      Somebody asked to sign up as {{to}}. There is an account with this address already, so nothing was made. If it was
      you, sign in instead, or set a new password.
      """,
    "sign_in_methods": """
      Subject: How you sign in

      Somebody who signed in with {{provider_id}} named {{to}} as their address, which is your account's. If it was you,
      sign in the way you do otherwise, and {{provider_id}} can be added to your account:

      {{methods}}

      If it was not you, do nothing: your account is as it was.
      """,
    "verify_email": """
      Subject: Confirm your address

      Please confirm that {{to}} is your address:

      {{link}}

      The link works once and is valid for {{lifetime}}. If you did not ask for it, ignore this message.
      """,
    "reset_password": """
      Subject: Set a new password

      You can set a new password for {{to}} here:

      {{link}}

      The link works once and is valid for {{lifetime}}. If you did not ask for it, ignore this message: your password
      has not changed.
      """,
    "change_email": """
      Subject: Confirm your new address

      Please confirm that {{to}} is to be the address of your account:

      {{link}}

      The link works once and is valid for {{lifetime}}. If you did not ask for it, ignore this message.
      """,
  ].merging(englishNotices) { $1 }

  private static let englishNotices = [
    "linked": """
      Subject: A new way to sign in

      {{provider_id}} was added as a way to sign in to your account. If it was not you, sign in and remove it.
      """,
    "unlinked": """
      Subject: A way to sign in was removed

      {{provider_id}} was removed from the ways to sign in to your account. If it was not you, sign in and look through
      the ways in that are left.
      """,
    "email_changed": """
      Subject: The address of your account was changed

      The address of your account was changed{{#new_email}} to {{new_email}}{{/new_email}}.
      {{#link}}
      If it was not you, take it back here:

      {{link}}
      {{/link}}
      """,
    "password_changed": """
      Subject: Your password was changed

      The password of your account was changed. If it was not you, reset your password at once.
      """,
    "factor_enrolled": """
      Subject: A second factor was added

      A second factor ({{factor}}) was added to your account. If it was not you, sign in and \
      remove it.
      """,
    "factor_withdrawn": """
      Subject: A second factor was removed

      A second factor ({{factor}}) was removed from your account. If it was not you, change your password and add it
      again.
      """,
    "address_detached": """
      Subject: An address was taken off your account

      {{email}} does not belong to your account any more: its owner has proved to be somebody else.
      """,
    "merged": """
      Subject: Two accounts became one

      Another account was merged into yours. If it was not you, change your password and look through the ways to sign
      in.
      """,
  ]
}
