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
      Subject: You already have an account

      Someone asked to sign up as {{to}}. An account with this email address already exists, so no account was created.
      If it was you, sign in instead, or set a new password.
      """,
    "sign_in_methods": """
      Subject: How you sign in

      Someone signed in with {{provider_id}} and gave {{to}} as their email address. Your account has this address. If
      it was you, sign in with one of these methods, and {{provider_id}} can be added to your account:

      {{methods}}

      If it was not you, do nothing: your account has not changed.
      """,
    "verify_email": """
      Subject: Confirm your email address

      Please confirm that {{to}} is your email address:

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
      Subject: Confirm your new email address

      Please confirm that {{to}} is the new email address of your account:

      {{link}}

      The link works once and is valid for {{lifetime}}. If you did not ask for it, ignore this message.
      """,
  ].merging(englishCodes) { $1 }.merging(englishNotices) { $1 }

  private static let englishCodes = [
    "invitation": """
      Subject: You are invited

      An account was created for {{to}}. Use this link to sign in for the first time:

      {{link}}

      The link works once and is valid for {{lifetime}}. If you do not want the account, ignore this message.
      """,
    "email_code": """
      Subject: Your code

      Your code is {{code}}. Enter it only where you asked for it, and do not share it with anyone.
      {{#link}}

      Or use this link:

      {{link}}
      {{/link}}

      It works once and is valid for {{lifetime}}. If you did not ask for it, ignore this message.
      """,
    "sign_up_code": """
      Subject: Finish signing up

      Your code to finish signing up as {{to}} is {{code}}. Enter it only where you asked for it, and do not share it
      with anyone.
      {{#link}}

      Or use this link:

      {{link}}
      {{/link}}

      It works once and is valid for {{lifetime}}. If you did not ask for it, ignore this message: there is no account
      yet.
      """,
    "verify_email_code": """
      Subject: Confirm your email address

      Your code to confirm that {{to}} is your email address is {{code}}. Enter it only where you asked for it, and do
      not share it with anyone.
      {{#link}}

      Or use this link:

      {{link}}
      {{/link}}

      It works once and is valid for {{lifetime}}. If you did not ask for it, ignore this message.
      """,
    "reset_password_code": """
      Subject: Set a new password

      Your code to set a new password for {{to}} is {{code}}. Enter it only where you asked for it, and do not share it
      with anyone.
      {{#link}}

      Or use this link:

      {{link}}
      {{/link}}

      It works once and is valid for {{lifetime}}. If you did not ask for it, ignore this message: your password has not
      changed.
      """,
    "change_email_code": """
      Subject: Confirm your new email address

      Your code to confirm that {{to}} is the new email address of your account is {{code}}. Enter it only where you
      asked for it, and do not share it with anyone.
      {{#link}}

      Or use this link:

      {{link}}
      {{/link}}

      It works once and is valid for {{lifetime}}. If you did not ask for it, ignore this message.
      """,
  ]

  private static let englishNotices = [
    "linked": """
      Subject: A new way to sign in

      {{provider_id}} was added as a way to sign in to your account. If it was not you, sign in and remove it.
      """,
    "unlinked": """
      Subject: A way to sign in was removed

      {{provider_id}} was removed from the sign-in methods of your account. If it was not you, sign in and check the
      remaining methods.
      """,
    "email_changed": """
      Subject: The email address of your account was changed

      The email address of your account was changed{{#new_email}} to {{new_email}}{{/new_email}}.
      {{#link}}
      If it was not you, undo the change here:

      {{link}}
      {{/link}}
      """,
    "password_changed": """
      Subject: Your password was changed

      The password of your account was changed. If it was not you, reset your password immediately.
      """,
    "factor_enrolled": """
      Subject: A second factor was added

      A second factor ({{factor}}) was added to your account. If it was not you, change your password. If you \
      cannot sign in, ask the support of the service to remove the factor.
      """,
    "factor_withdrawn": """
      Subject: A second factor was removed

      A second factor ({{factor}}) was removed from your account. If it was not you, change your password and add it
      again.
      """,
    "address_detached": """
      Subject: An email address was removed from your account

      {{email}} no longer belongs to your account: another user has verified that it is theirs.
      """,
    "merged": """
      Subject: Two accounts became one

      Another account was merged into yours. If it was not you, change your password and check your sign-in
      methods.
      """,
  ]
}
